# Installs BUILD into a scratch prefix and builds user.c against it, by CMake and by pkg-config.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    string(REPLACE ";" " " line "${ARGV}")
    message(FATAL_ERROR "${line}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
set(prefix ${SCRATCH}/prefix)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${prefix}/bin/nvdp --version)

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/build -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_C_COMPILER=${CC})
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${SCRATCH}/build/user)

# The .pc file names the configured prefix; the scratch one overrides it.
set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
run(pkg-config --define-variable=prefix=${prefix} --cflags --libs nvdp)
string(STRIP "${output}" flags)
separate_arguments(flags)
run(${CC} ${SOURCE}/user.c -o ${SCRATCH}/user ${flags})
run(${SCRATCH}/user)
message(STATUS "${output}")

# The libraries the program stands on; NVDP_DEPENDENCIES lists them for linking.
find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
pkg_check_modules(GSL REQUIRED gsl)
pkg_check_modules(HDF5 REQUIRED IMPORTED_TARGET hdf5)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)

# GSL without its own CBLAS: OpenBLAS provides those symbols.
set(NVDP_DEPENDENCIES gsl PkgConfig::OPENBLAS PkgConfig::HDF5 PkgConfig::SODIUM PkgConfig::JANSSON
  PkgConfig::UTF8PROC OpenMP::OpenMP_C m)

# oneDNN, through the interface of version 2; src/tensor/half.c and gemm_onednn.c are all that use it.
set(NVDP_TENSOR_UNUSED half.c gemm_onednn.c)
set(NVDP_ONEDNN_VERSION "none (bfloat16 products are left out)")
if(NVDP_WITH_ONEDNN)
  find_path(NVDP_DNNL_INCLUDE oneapi/dnnl/dnnl_version.h)
  find_library(NVDP_DNNL_LIBRARY dnnl)
  if(NOT NVDP_DNNL_INCLUDE OR NOT NVDP_DNNL_LIBRARY)
    message(FATAL_ERROR "oneDNN is not found: install libdnnl-dev, or build without bfloat16 products: -DNVDP_WITH_ONEDNN=OFF")
  endif()
  file(STRINGS ${NVDP_DNNL_INCLUDE}/oneapi/dnnl/dnnl_version.h major REGEX "define DNNL_VERSION_MAJOR")
  string(REGEX REPLACE "[^0-9]*([0-9]+).*" "\\1" major "${major}")
  if(major EQUAL 2)
    list(PREPEND NVDP_DEPENDENCIES ${NVDP_DNNL_LIBRARY})
    set(NVDP_TENSOR_UNUSED half_none.c gemm_openblas.c)
    set(NVDP_ONEDNN_VERSION "2")
    set(NVDP_PC_DNNL "-ldnnl")
  else()
    message(WARNING "oneDNN ${major} is not supported, only 2: built without bfloat16 products")
  endif()
endif()

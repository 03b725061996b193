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

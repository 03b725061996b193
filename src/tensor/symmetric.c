/* Symmetric matrices: eigenvectors by GSL, Cholesky factors by BLAS. symmetric.h documents the functions. */
#include "tensor/symmetric.h"

#include <gsl/gsl_eigen.h>
#include <math.h>

/* GSL's workspace and matrices are views of the caller's memory, because GSL's allocator would call GSL's error
 * handler, which ends the program. */
void nvdp__eigenvectors(size_t n, double *a, double *vectors, double *line) {
    gsl_matrix_view matrix = gsl_matrix_view_array(a, n, n);
    gsl_matrix_view columns = gsl_matrix_view_array(vectors, n, n);
    gsl_vector_view values = gsl_vector_view_array(line, n);
    gsl_eigen_symmv_workspace work = {
        .size = n, .d = line + n, .sd = line + 2 * n, .gc = line + 3 * n, .gs = line + 4 * n};
    gsl_eigen_symmv(&matrix.matrix, &values.vector, &columns.matrix, &work);
    gsl_eigen_symmv_sort(&values.vector, &columns.matrix, GSL_EIGEN_SORT_VAL_DESC);
}

bool nvdp__cholesky(size_t n, double *a, size_t *failed) {
    for (size_t j = 0; j < n; j++) {
        for (size_t i = j; i < n; i++)
            a[i * n + j] -= cblas_ddot((int)j, a + i * n, 1, a + j * n, 1);
        *failed = j;
        if (!(a[j * n + j] > 0)) return false;
        cblas_dscal((int)(n - j), 1 / sqrt(a[j * n + j]), a + j * n + j, (int)n);
    }
    return true;
}

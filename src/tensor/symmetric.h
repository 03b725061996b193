/* Symmetric matrices in double, in memory of the host: eigenvectors and Cholesky factors. The BLAS may lack LAPACK. */
#ifndef NVDP_SRC_TENSOR_SYMMETRIC_H
#define NVDP_SRC_TENSOR_SYMMETRIC_H

#include <stdbool.h>
#include <stddef.h>

/* Computes the eigenvectors of a [n, n] (overwritten), by decreasing eigenvalue, as the columns of vectors [n, n]; the
 * eigenvalues are line[0..n). line [5 n] is scratch. O(n^3). */
void nvdp__eigenvectors(size_t n, double *a, double *vectors, double *line);
/* Replaces the lower triangle of a [n, n] by its Cholesky factor. Returns false, and the *failed column, if the matrix is
 * not positive definite. O(n^3). */
bool nvdp__cholesky(size_t n, double *a, size_t *failed);

#endif

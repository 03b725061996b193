/* Symmetric matrices in double, in host memory: eigenvectors and Cholesky factors. They do not need LAPACK, which
 * some builds of BLAS lack. */
#ifndef NVDP_SRC_TENSOR_SYMMETRIC_H
#define NVDP_SRC_TENSOR_SYMMETRIC_H

#include <stdbool.h>
#include <stddef.h>

/* Computes the eigenvectors of a [n, n], which is overwritten, by decreasing eigenvalue, as the columns of vectors
 * [n, n]. The eigenvalues are line[0..n); line [5 n] is a scratch buffer. O(n^3). */
void nvdp__eigenvectors(size_t n, double *a, double *vectors, double *line);
/* Replaces the lower triangle of a [n, n] by its Cholesky factor. If the matrix is not positive definite, returns
 * false and sets *failed to the column that failed. O(n^3). */
bool nvdp__cholesky(size_t n, double *a, size_t *failed);

#endif

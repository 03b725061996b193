/* Until all includes name tensor.h. */
#include "tensor/tensor.h"

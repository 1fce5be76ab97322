/** The model zoo: published architectures as ONNX graphs, with seeded random weights. */
@NullMarked
package io.pipelane.loadgen.zoo;

import org.jspecify.annotations.NullMarked;

/** Several devices of one server: where requests go, and what the loss of one costs. */
@NullMarked
package io.pipelane.bench.multigpu;

import org.jspecify.annotations.NullMarked;

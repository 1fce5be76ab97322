/** Several devices as one service: which of them has a model, and which answers a request. */
@NullMarked
package io.pipelane.switcher.placement;

import org.jspecify.annotations.NullMarked;

/** Online and offline work on one device, side by side. */
@NullMarked
package io.pipelane.bench.sharing;

import org.jspecify.annotations.NullMarked;

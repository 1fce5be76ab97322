/** The host tier: weights kept ready for transfer in host memory, within a bound. */
@NullMarked
package io.pipelane.modelstore.host;

import org.jspecify.annotations.NullMarked;

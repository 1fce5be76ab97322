/** One model's weights over the links of several devices. */
@NullMarked
package io.pipelane.bench.links;

import org.jspecify.annotations.NullMarked;

/** Many models that are seldom asked, on one device. */
@NullMarked
package io.pipelane.bench.packing;

import org.jspecify.annotations.NullMarked;

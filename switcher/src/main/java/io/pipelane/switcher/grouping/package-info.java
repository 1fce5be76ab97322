/** Models of a cold start's time, and the groups of segments that make it shortest. */
@NullMarked
package io.pipelane.switcher.grouping;

import org.jspecify.annotations.NullMarked;

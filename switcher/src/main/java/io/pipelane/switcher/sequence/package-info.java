/** State that models keep between requests. */
@NullMarked
package io.pipelane.switcher.sequence;

import org.jspecify.annotations.NullMarked;

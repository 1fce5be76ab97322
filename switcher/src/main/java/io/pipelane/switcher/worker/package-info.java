/** Workers: what runs sessions on memory that the daemon lends. */
@NullMarked
package io.pipelane.switcher.worker;

import org.jspecify.annotations.NullMarked;

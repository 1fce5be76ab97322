/** The trial of a share of the multiprocessors: what is measured, and which size it follows. */
@NullMarked
package io.pipelane.switcher.sharing.trial;

import org.jspecify.annotations.NullMarked;

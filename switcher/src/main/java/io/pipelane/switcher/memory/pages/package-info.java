/**
 * A device's pages, whichever models have them: what is in them, who holds them together, whose
 * weights they had, and what is on its way to them.
 */
@NullMarked
package io.pipelane.switcher.memory.pages;

import org.jspecify.annotations.NullMarked;

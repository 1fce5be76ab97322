/** Online and offline work on one device: who waits at gates, and how much offline work is let. */
@NullMarked
package io.pipelane.switcher.sharing;

import org.jspecify.annotations.NullMarked;

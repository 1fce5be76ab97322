/**
 * Online and offline work on one device: how much offline work is let, by looks at the device, its
 * memory and what online work attains.
 */
@NullMarked
package io.pipelane.switcher.sharing;

import org.jspecify.annotations.NullMarked;

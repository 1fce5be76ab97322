/**
 * Residency: which leading pages of which models stay on a device, by request rates, stalls and
 * policies.
 */
@NullMarked
package io.pipelane.switcher.residency;

import org.jspecify.annotations.NullMarked;

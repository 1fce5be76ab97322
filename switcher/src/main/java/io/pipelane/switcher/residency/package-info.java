/** Which leading pages of which models stay on a device: request rates, stalls, policies. */
@NullMarked
package io.pipelane.switcher.residency;

import org.jspecify.annotations.NullMarked;

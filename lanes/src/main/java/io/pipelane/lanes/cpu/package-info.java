/** The CPU under the rules of an accelerator: pages of a memfd, mapped into reserved addresses. */
@NullMarked
package io.pipelane.lanes.cpu;

import org.jspecify.annotations.NullMarked;

/** The repository on disk, import, plans, and the host tier. */
@NullMarked
package io.pipelane.modelstore;

import org.jspecify.annotations.NullMarked;

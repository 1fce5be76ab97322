/** Import: what makes a registered model servable, in a process of its own. */
@NullMarked
package io.pipelane.modelstore.importing;

import org.jspecify.annotations.NullMarked;

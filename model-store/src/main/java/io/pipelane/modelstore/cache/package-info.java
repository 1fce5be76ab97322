/** Derived files on disk: found by content, written atomically, rebuilt when damaged. */
@NullMarked
package io.pipelane.modelstore.cache;

import org.jspecify.annotations.NullMarked;

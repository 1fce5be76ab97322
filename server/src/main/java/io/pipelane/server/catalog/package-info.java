/** The catalogue: which models the server answers for, and in which state each of them is. */
@NullMarked
package io.pipelane.server.catalog;

import org.jspecify.annotations.NullMarked;

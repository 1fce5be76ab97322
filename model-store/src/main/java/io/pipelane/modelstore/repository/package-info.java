/** The models that owners have registered, as the repository folder shows them. */
@NullMarked
package io.pipelane.modelstore.repository;

import org.jspecify.annotations.NullMarked;

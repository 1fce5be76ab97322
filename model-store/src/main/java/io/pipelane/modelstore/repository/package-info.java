/** What an owner has registered, as the repository folder shows it. */
@NullMarked
package io.pipelane.modelstore.repository;

import org.jspecify.annotations.NullMarked;

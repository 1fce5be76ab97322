/** The sections of the configuration, a record each, whose components are keys. */
@NullMarked
package io.pipelane.config.section;

import org.jspecify.annotations.NullMarked;

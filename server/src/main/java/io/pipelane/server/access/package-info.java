/** Who may ask what, and how much of it: API keys, their roles, models and limits. */
@NullMarked
package io.pipelane.server.access;

import org.jspecify.annotations.NullMarked;

/**
 * Access: who may ask what, and how much of it, by API keys or tokens with their roles, models and
 * limits.
 */
@NullMarked
package io.pipelane.server.access;

import org.jspecify.annotations.NullMarked;

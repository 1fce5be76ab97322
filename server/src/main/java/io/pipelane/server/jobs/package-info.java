/** Jobs: inference over many items in the background, which survives the server. */
@NullMarked
package io.pipelane.server.jobs;

import org.jspecify.annotations.NullMarked;

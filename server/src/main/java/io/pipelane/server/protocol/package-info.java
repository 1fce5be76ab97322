/**
 * The Open Inference Protocol v2 in JSON, but for inferences: what its extensions are asked and
 * answer, and the JSON that all of it is written in. Knows buffers, no connections.
 */
@NullMarked
package io.pipelane.server.protocol;

import org.jspecify.annotations.NullMarked;

/**
 * Inferences in JSON with the binary tensor extension: requests to checked inferences, results to
 * bytes. Knows buffers, no connections.
 */
@NullMarked
package io.pipelane.server.protocol.inference;

import org.jspecify.annotations.NullMarked;

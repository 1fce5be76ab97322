/**
 * HTTP messages, requests and answers: their heads, targets, framing, and limits of their bodies.
 */
@NullMarked
package io.pipelane.server.http.message;

import org.jspecify.annotations.NullMarked;

/**
 * The Open Inference Protocol over gRPC: messages to checked inferences, results to messages, on
 * grpc-java and Netty.
 */
@NullMarked
package io.pipelane.server.grpc;

import org.jspecify.annotations.NullMarked;

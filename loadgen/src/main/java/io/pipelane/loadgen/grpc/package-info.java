/** The protocol over gRPC: sending under load, and asking a server about itself. */
@NullMarked
package io.pipelane.loadgen.grpc;

import org.jspecify.annotations.NullMarked;

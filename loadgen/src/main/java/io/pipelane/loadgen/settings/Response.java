package io.pipelane.loadgen.settings;

import java.nio.ByteBuffer;

/**
 * The answer to one request.
 *
 * @param model index into the test's models
 * @param variant index into that model's variants
 * @param request number of the request among all of the test, warm-up included, in sending order
 * @param status HTTP's; of gRPC 200 for OK, and what HTTP has for the same error
 * @param jsonBytes length of the JSON part that the body begins with when tensors follow it as
 *     bytes; -1 when the server said nothing about it
 * @param body valid during the call only
 */
public record Response(
    int model, int variant, long request, int status, int jsonBytes, ByteBuffer body) {}

package io.pipelane.server.protocol.inference;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.protocol.inference.InputReader.Input;
import io.pipelane.server.shared.RegionPart;
import io.pipelane.switcher.SequenceStep;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The description that the JSON of a request gives: all of it but the elements of binary tensors.
 *
 * @param id the caller's own name for the request, which the answer repeats
 * @param inputs in the request's order
 * @param outputs names of the outputs wanted, in the order wanted
 * @param binaryOutputs by position in {@code outputs}, whether to answer it as binary data
 * @param outputRegions by position in {@code outputs}, where in shared memory it goes, null where
 *     it is sent; may be empty where all are
 * @param timeoutMicros how long the caller waits for the answer, 0 where it has not said
 * @param priority the class of the request; null where the caller has not said
 * @param sequence which step of a sequence it is
 * @param latestAnswer how it was answered before
 */
record InferDescription(
    ServedModel model,
    @Nullable String id,
    List<Input> inputs,
    List<String> outputs,
    List<Boolean> binaryOutputs,
    List<@Nullable RegionPart> outputRegions,
    long timeoutMicros,
    @Nullable Priority priority,
    Optional<SequenceStep> sequence,
    LatestAnswer latestAnswer) {
  InferDescription {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
    binaryOutputs = List.copyOf(binaryOutputs);
  }
}

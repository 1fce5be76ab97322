package io.pipelane.server.protocol.inference;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.memory.DirectMemory;
import io.pipelane.server.protocol.Json;
import io.pipelane.server.protocol.inference.InputReader.Input;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A request whose body is nothing but the bytes of the model's only input: the model's declaration
 * says the rest, and all outputs are wanted as binary data. A BYTES input has one element, the body
 * without a length in front.
 */
final class RawTensor {
  private final ServedModel model;
  private final TensorSpec spec;
  private final int bodyLength;

  private RawTensor(ServedModel model, int bodyLength) {
    if (model.inputs().size() != 1) {
      throw Json.invalid(
          "a body of one tensor's bytes is for models with one input; model %s has %s"
              .formatted(model.version(), model.inputs().stream().map(TensorSpec::name).toList()));
    }
    this.model = model;
    this.spec = model.inputs().getFirst();
    this.bodyLength = bodyLength;
  }

  /**
   * What such a body says.
   *
   * @throws io.pipelane.config.StatusException when the model has several inputs, or the shape does
   *     not follow from the body's length
   */
  static InferDescription describe(ServedModel model, int bodyLength) {
    return new RawTensor(model, bodyLength).describe();
  }

  private InferDescription describe() {
    Shape shape = spec.type() == TensorType.BYTES ? single() : shape();
    model.checkRows(spec, shape);
    int size = spec.type() == TensorType.BYTES ? Integer.BYTES + bodyLength : bodyLength;
    Input input = new Input(0, spec, shape, null, size, null);
    List<String> outputs = model.outputs().stream().map(TensorSpec::name).toList();
    return new InferDescription(
        model,
        null,
        List.of(input),
        outputs,
        new ArrayList<>(Collections.nCopies(outputs.size(), true)),
        List.of(),
        0,
        null,
        Optional.empty(),
        new LatestAnswer());
  }

  /** The body as it would stand behind JSON: null where it does already. */
  static @Nullable ByteBuf lengthened(ServedModel model, ByteBuf body, ByteBufAllocator allocator) {
    if (model.inputs().getFirst().type() != TensorType.BYTES) {
      return null;
    }
    int length = body.readableBytes();
    return DirectMemory.take(Integer.BYTES + length, allocator)
        .writeIntLE(length)
        .writeBytes(body, body.readerIndex(), length);
  }

  /** One element, every open dimension 1. */
  private Shape single() {
    long[] dimensions = spec.shape().toArray();
    for (int axis = 0; axis < dimensions.length; axis++) {
      dimensions[axis] = Math.abs(dimensions[axis]);
    }
    Shape shape = Shape.of(dimensions);
    if (shape.elements() != 1) {
      throw Json.invalid(
          "input \"%s\" is BYTES %s; a body of one tensor's bytes is one element"
              .formatted(spec.name(), spec.shape()));
    }
    return shape;
  }

  /** The one open dimension follows from the length; of two the first is a batch of 1. */
  private Shape shape() {
    long[] dimensions = spec.shape().toArray();
    int open = -1;
    long known = spec.type().byteWidth();
    for (int axis = 0; axis < dimensions.length; axis++) {
      if (dimensions[axis] >= 0) {
        known = Math.multiplyExact(known, dimensions[axis]);
      } else if (open == 0) {
        dimensions[0] = 1;
        open = axis;
      } else if (open < 0) {
        open = axis;
      } else {
        throw Json.invalid(
            "input \"%s\" is %s: its shape does not follow from a number of bytes; describe it"
                    .formatted(spec.name(), spec.shape())
                + " in JSON");
      }
    }
    if (open >= 0) {
      if (known == 0 || bodyLength % known != 0) {
        throw Json.invalid(
            "input \"%s\" is %s %s: its bytes come in multiples of %d, the body has %d"
                .formatted(spec.name(), spec.type(), spec.shape(), known, bodyLength));
      }
      dimensions[open] = bodyLength / known;
    } else if (bodyLength != known) {
      throw Json.invalid(
          "input \"%s\" is %s %s: it has %d bytes, the body has %d"
              .formatted(spec.name(), spec.type(), spec.shape(), known, bodyLength));
    }
    return Shape.of(dimensions);
  }
}

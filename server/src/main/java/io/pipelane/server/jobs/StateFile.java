package io.pipelane.server.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;

/**
 * Tensors in a file, in the safetensors format: the length of a header, the header, which is JSON
 * with type, shape and place of each tensor, and their elements.
 */
final class StateFile {
  private static final int MOST_HEADER_BYTES = 16 << 20;
  private static final int ALIGNMENT = 8;
  private static final int MOST_AT_ONCE = 1 << 30;

  private static final Map<TensorType, String> NAMES =
      Map.ofEntries(
          Map.entry(TensorType.FP64, "F64"),
          Map.entry(TensorType.FP32, "F32"),
          Map.entry(TensorType.FP16, "F16"),
          Map.entry(TensorType.BF16, "BF16"),
          Map.entry(TensorType.INT64, "I64"),
          Map.entry(TensorType.INT32, "I32"),
          Map.entry(TensorType.INT16, "I16"),
          Map.entry(TensorType.INT8, "I8"),
          Map.entry(TensorType.UINT64, "U64"),
          Map.entry(TensorType.UINT32, "U32"),
          Map.entry(TensorType.UINT16, "U16"),
          Map.entry(TensorType.UINT8, "U8"),
          Map.entry(TensorType.BOOL, "BOOL"));

  private StateFile() {}

  /** Writes tensors to the beginning of a file; not strings. */
  static void write(FileChannel channel, List<InputTensor> tensors) throws IOException {
    ObjectNode header = JobJson.object();
    long offset = 0;
    for (InputTensor tensor : tensors) {
      ObjectNode entry = header.putObject(tensor.name());
      entry.put("dtype", NAMES.get(tensor.type()));
      for (long dimension : tensor.shape().toArray()) {
        entry.withArray("shape").add(dimension);
      }
      entry.putArray("data_offsets").add(offset).add(offset + tensor.data().byteSize());
      offset += tensor.data().byteSize();
    }
    byte[] json = JobJson.write(header);
    int length = Math.ceilDiv(json.length, ALIGNMENT) * ALIGNMENT;
    ByteBuffer begin = ByteBuffer.allocate(Long.BYTES + length).order(ByteOrder.LITTLE_ENDIAN);
    begin.putLong(length).put(json);
    while (begin.hasRemaining()) {
      begin.put((byte) ' ');
    }
    write(channel, begin.flip());
    for (InputTensor tensor : tensors) {
      MemorySegment data = tensor.data();
      for (long from = 0; from < data.byteSize(); from += MOST_AT_ONCE) {
        long size = Math.min(MOST_AT_ONCE, data.byteSize() - from);
        write(channel, data.asSlice(from, size).asByteBuffer());
      }
    }
  }

  private static void write(FileChannel channel, ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }

  /**
   * Reads a file's tensors where they lie.
   *
   * @throws IOException also when it is no such file
   */
  static List<InputTensor> read(Path file) throws IOException {
    MemorySegment content;
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      content = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), Arena.ofAuto());
    }
    try {
      ValueLayout.OfLong number =
          ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
      long length = content.get(number, 0);
      if (length < 0 || length > MOST_HEADER_BYTES) {
        throw new IOException(file + " is no file of tensors: its header has " + length + " bytes");
      }
      byte[] json = content.asSlice(Long.BYTES, length).toArray(ValueLayout.JAVA_BYTE);
      MemorySegment data = content.asSlice(Long.BYTES + length);
      List<InputTensor> tensors = new ArrayList<>();
      for (Map.Entry<String, JsonNode> entry : JobJson.parse(json).properties()) {
        tensors.add(tensor(entry.getKey(), entry.getValue(), data));
      }
      return tensors;
    } catch (RuntimeException e) {
      throw new IOException(file + " is no file of tensors: " + e.getMessage(), e);
    }
  }

  private static InputTensor tensor(String name, JsonNode entry, MemorySegment data) {
    long begin = entry.path("data_offsets").path(0).asLong();
    long end = entry.path("data_offsets").path(1).asLong();
    long[] shape =
        StreamSupport.stream(entry.path("shape").spliterator(), false)
            .mapToLong(JsonNode::asLong)
            .toArray();
    String dtype = entry.path("dtype").asText();
    TensorType type =
        NAMES.entrySet().stream()
            .filter(known -> known.getValue().equals(dtype))
            .map(Map.Entry::getKey)
            .findFirst()
            .orElseThrow(() -> new IllegalArgumentException("type " + dtype + " is not known"));
    Shape of = Shape.of(shape);
    if (end - begin != Math.multiplyExact(of.elements(), (long) type.byteWidth())) {
      throw new IllegalArgumentException(
          "\"%s\" of %s has %d bytes".formatted(name, of, end - begin));
    }
    return new InputTensor(name, type, of, data.asSlice(begin, end - begin));
  }
}

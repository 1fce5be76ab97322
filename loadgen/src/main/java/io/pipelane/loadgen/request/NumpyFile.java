package io.pipelane.loadgen.request;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** NumPy's file format for one array, versions 1 to 3, little-endian and in C order. */
final class NumpyFile {
  private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
  private static final Pattern TYPE = Pattern.compile("'descr': *'([^']*)'");
  private static final Pattern FORTRAN = Pattern.compile("'fortran_order': *(True|False)");
  private static final Pattern SHAPE = Pattern.compile("'shape': *\\(([^)]*)\\)");
  private static final int ALIGNMENT = 64;
  private static final Map<String, Datatype> TYPES =
      Map.ofEntries(
          Map.entry("|b1", Datatype.BOOL),
          Map.entry("|u1", Datatype.UINT8),
          Map.entry("<u2", Datatype.UINT16),
          Map.entry("<u4", Datatype.UINT32),
          Map.entry("<u8", Datatype.UINT64),
          Map.entry("|i1", Datatype.INT8),
          Map.entry("<i2", Datatype.INT16),
          Map.entry("<i4", Datatype.INT32),
          Map.entry("<i8", Datatype.INT64),
          Map.entry("<f2", Datatype.FP16),
          Map.entry("<f4", Datatype.FP32),
          Map.entry("<f8", Datatype.FP64));

  private NumpyFile() {}

  /**
   * Reads an array.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the bytes are no such file
   */
  static TensorValue read(String name, byte[] file) {
    ByteBuffer in = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
    if (file.length < 12 || !Arrays.equals(file, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
      throw wrong(name, "it does not begin like a NumPy file");
    }
    in.position(MAGIC.length);
    int version = in.get();
    in.get();
    int headerBytes = version == 1 ? Short.toUnsignedInt(in.getShort()) : in.getInt();
    if (headerBytes < 0 || headerBytes > in.remaining()) {
      throw wrong(name, "its header is cut off");
    }
    byte[] headerText = new byte[headerBytes];
    in.get(headerText);
    String header = new String(headerText, StandardCharsets.ISO_8859_1);
    if (!find(name, FORTRAN, header).equals("False")) {
      throw wrong(name, "it is in Fortran order; save it with numpy.ascontiguousarray");
    }
    String typeName = find(name, TYPE, header);
    Datatype type = TYPES.get(typeName);
    if (type == null) {
      throw wrong(name, "its type " + typeName + " is not one of " + TYPES.keySet());
    }
    List<Long> shape =
        Arrays.stream(find(name, SHAPE, header).split(",", -1))
            .map(String::strip)
            .filter(dimension -> !dimension.isEmpty())
            .map(Long::parseLong)
            .toList();
    if (TensorValue.elements(shape) * type.width() != in.remaining()) {
      throw wrong(name, "shape " + shape + " does not fit " + in.remaining() + " bytes of data");
    }
    return new TensorValue(name, type, shape, in.slice().order(ByteOrder.LITTLE_ENDIAN));
  }

  /**
   * Writes an array, version 1.
   *
   * @throws StatusException {@link Status#UNIMPLEMENTED} for types that NumPy has not
   */
  static byte[] write(TensorValue tensor) {
    String typeName =
        TYPES.entrySet().stream()
            .filter(entry -> entry.getValue() == tensor.type())
            .map(Map.Entry::getKey)
            .findAny()
            .orElseThrow(
                () ->
                    new StatusException(
                        Status.UNIMPLEMENTED,
                        "input \"%s\": NumPy files have no %s"
                            .formatted(tensor.name(), tensor.type())));
    String shape = tensor.shape().stream().map(String::valueOf).collect(Collectors.joining(", "));
    String header =
        "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }"
            .formatted(typeName, tensor.shape().size() == 1 ? shape + "," : shape);
    int prefix = MAGIC.length + 4;
    int padding = ALIGNMENT - (prefix + header.length() + 1) % ALIGNMENT;
    byte[] padded = (header + " ".repeat(padding) + "\n").getBytes(StandardCharsets.ISO_8859_1);
    ByteBuffer out =
        ByteBuffer.allocate(prefix + padded.length + tensor.data().remaining())
            .order(ByteOrder.LITTLE_ENDIAN);
    out.put(MAGIC).put((byte) 1).put((byte) 0).putShort((short) padded.length).put(padded);
    return out.put(tensor.data()).array();
  }

  private static String find(String name, Pattern pattern, String header) {
    Matcher matcher = pattern.matcher(header);
    if (!matcher.find()) {
      throw wrong(name, "its header lacks " + pattern.pattern());
    }
    return matcher.group(1);
  }

  private static StatusException wrong(String name, String reason) {
    return new StatusException(
        Status.INVALID_ARGUMENT, "the file for \"" + name + "\" cannot be read: " + reason);
  }
}

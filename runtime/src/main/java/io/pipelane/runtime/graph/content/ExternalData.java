package io.pipelane.runtime.graph.content;

import ai.onnx.proto.OnnxMl.StringStringEntryProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.OptionalLong;

/**
 * The part of a file that holds a constant's bytes.
 *
 * <p>A model names that file itself, so the name is not to be trusted: it must stay inside the
 * model's folder, links followed and not too deep, and the range inside the file.
 */
record ExternalData(Path file, long offset, long byteSize) {
  /** ONNX Runtime takes a tensor with this location for a pointer into its own memory. */
  private static final String MEMORY_MARKER = "_ORT_MEM_ADDR_";

  /**
   * Finds the bytes of a constant.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when location or range are not allowed
   */
  static ExternalData of(TensorProto tensor, Path folder) {
    String location = "";
    long offset = 0;
    OptionalLong claimed = OptionalLong.empty();
    for (StringStringEntryProto entry : tensor.getExternalDataList()) {
      switch (entry.getKey()) {
        case "location" -> location = entry.getValue();
        case "offset" -> offset = number(tensor, entry);
        case "length" -> claimed = OptionalLong.of(number(tensor, entry));
        default -> {}
      }
    }
    Path file = resolve(tensor, location, folder);
    long available = size(tensor, file);
    long length = claimed.orElse(Math.max(0, available - offset));
    if (offset > available || length > available - offset) {
      throw refused(
          tensor,
          "lies at bytes %d + %d of \"%s\", which has %d"
              .formatted(offset, length, location, available));
    }
    return new ExternalData(file, offset, length);
  }

  TensorContent content() {
    return new TensorContent.External(file, offset, byteSize);
  }

  private static Path resolve(TensorProto tensor, String location, Path folder) {
    if (location.isEmpty() || location.contains(MEMORY_MARKER)) {
      throw refused(tensor, "names no file: \"" + location + "\"");
    }
    try {
      Path relative = Path.of(location);
      Path inside = folder.toRealPath();
      if (relative.isAbsolute() || !inside.resolve(relative).normalize().startsWith(inside)) {
        throw refused(tensor, "lies outside the model's folder: \"" + location + "\"");
      }
      Path file = inside.resolve(relative).toRealPath();
      if (!file.startsWith(inside) || !Files.isRegularFile(file)) {
        throw refused(tensor, "is no file inside the model's folder: \"" + location + "\"");
      }
      if (inside.relativize(file).getNameCount() > ModelFile.MAXIMUM_DEPTH) {
        throw refused(
            tensor,
            "lies more than %d levels deep: \"%s\"".formatted(ModelFile.MAXIMUM_DEPTH, location));
      }
      return file;
    } catch (IOException | InvalidPathException e) {
      throw refused(tensor, "cannot be found: \"" + location + "\"" + reason(e));
    }
  }

  /** In the kernel's words, which tell a fault of the machine from one of the model. */
  private static String reason(Exception e) {
    return switch (e) {
      case AccessDeniedException _ -> ", permission denied";
      case FileSystemException failure when failure.getReason() != null ->
          ", " + failure.getReason();
      default -> "";
    };
  }

  private static long size(TensorProto tensor, Path file) {
    try {
      return Files.size(file);
    } catch (IOException e) {
      throw refused(tensor, "cannot be read: " + e.getMessage());
    }
  }

  private static long number(TensorProto tensor, StringStringEntryProto entry) {
    try {
      long value = Long.parseLong(entry.getValue());
      if (value >= 0) {
        return value;
      }
    } catch (NumberFormatException e) {
      // Refused below, with the negative ones.
    }
    throw refused(tensor, "has " + entry.getKey() + " \"" + entry.getValue() + "\"");
  }

  private static StatusException refused(TensorProto tensor, String reason) {
    return new StatusException(
        Status.INVALID_ARGUMENT, "external data of \"" + tensor.getName() + "\" " + reason);
  }
}

package io.pipelane.runtime;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** ONNX Runtime's messages as people can read them. */
final class ErrorText {
  /** In front of it stand C++ signatures, behind it source files of the build. */
  private static final Pattern OF_LIBRARY =
      Pattern.compile("(CUDA|CUDNN|CUBLAS|CUFFT)[A-Z_ ]* failure \\d+: (?s:.*?)(?= *;)");

  private ErrorText() {}

  /** What a library said, where that is quoted, or else all of it. */
  static String of(String message) {
    Matcher quoted = OF_LIBRARY.matcher(message);
    return quoted.find() ? quoted.group() : message.strip();
  }
}

package io.pipelane.runtime;

import io.pipelane.config.Status;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An error of ONNX Runtime as people can read it.
 *
 * <p>Messages repeat names out of the model, so they are as long and as odd as a stranger likes:
 * they are shortened first, and read in time that grows with their length alone.
 *
 * @param status what it means to us
 */
record ErrorText(Status status, String text) {
  /** What is kept of a message's beginning, and of its end, where a library's words stand. */
  static final int KEPT_CHARACTERS = 4 << 10;

  private static final String FAILURE = " failure ";
  private static final String CALL = "expr=";
  private static final String WAS_FALSE = " was false. ";

  /** Who fails, at the end of what stands before {@link #FAILURE}. */
  private static final Pattern LIBRARY = Pattern.compile("(CUDA|CUDNN|CUBLAS|CUFFT)[A-Z_ ]*+");

  private static final Pattern NUMBER = Pattern.compile("\\d++: ");

  /** A source file with its line; behind it stands a C++ signature. */
  private static final Pattern SOURCE = Pattern.compile("(?<!\\S)/\\S+\\.(cc|h|cu):\\d++ ");

  private static final Pattern OUT_OF_MEMORY =
      Pattern.compile("(?i)out of memory|ALLOC_FAILED|CUDA failure 2:");

  /** Reads a message. */
  static ErrorText of(OrtErrorCode code, String message) {
    String kept = shortened(message);
    int failure = failureOfLibrary(kept);
    return failure < 0
        ? new ErrorText(code.status(), withoutCondition(kept).strip())
        : ofLibrary(code, kept, failure);
  }

  private static String shortened(String message) {
    return message.length() <= 2 * KEPT_CHARACTERS
        ? message
        : message.substring(0, KEPT_CHARACTERS)
            + " ... "
            + message.substring(message.length() - KEPT_CHARACTERS);
  }

  /** Where it says which library failed with which number; -1 where it does not. */
  private static int failureOfLibrary(String message) {
    for (int at = message.indexOf(FAILURE); at >= 0; at = message.indexOf(FAILURE, at + 1)) {
      int begin = at;
      while (begin > 0 && isOfLibrary(message.charAt(begin - 1))) {
        begin--;
      }
      Matcher library = LIBRARY.matcher(message).region(begin, at);
      Matcher number = NUMBER.matcher(message).region(at + FAILURE.length(), message.length());
      if (library.find() && number.lookingAt()) {
        return library.start();
      }
    }
    return -1;
  }

  private static boolean isOfLibrary(char c) {
    return (c >= 'A' && c <= 'Z') || c == '_' || c == ' ';
  }

  /**
   * What a library on a GPU said and was asked: in front of it stand C++ signatures, behind it the
   * places of source files.
   */
  private static ErrorText ofLibrary(OrtErrorCode code, String message, int failure) {
    String whole = message.stripTrailing();
    int end = whole.indexOf(';', failure);
    int call = end < 0 ? -1 : whole.indexOf(CALL, end);
    if (call < 0 || !whole.endsWith(";")) {
      return new ErrorText(code.status(), whole.strip());
    }
    Matcher source = SOURCE.matcher(whole).region(0, failure).useTransparentBounds(true);
    String node = whole.substring(0, source.find() ? source.start() : failure);
    String said = whole.substring(failure, end).strip();
    String asked = whole.substring(call + CALL.length(), whole.length() - 1).strip();
    boolean full = OUT_OF_MEMORY.matcher(said).find();
    return new ErrorText(
        full ? Status.INSUFFICIENT_MEMORY : Status.DEVICE_FAILURE,
        "%s%s, by %s".formatted(node, said, asked).strip());
  }

  /** Without a source file, a C++ signature and the condition that did not hold. */
  private static String withoutCondition(String message) {
    int end = message.lastIndexOf(WAS_FALSE);
    if (end < 0) {
      return message;
    }
    Matcher source = SOURCE.matcher(message).region(0, end);
    return source.find()
        ? message.substring(0, source.start()) + message.substring(end + WAS_FALSE.length())
        : message;
  }
}

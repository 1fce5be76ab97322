package io.pipelane.server.protocol;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The request parameter {@code priority}: a class by its name, or by a number as Triton has it. */
public final class RequestPriority {
  private static final Pattern NUMBER = Pattern.compile("\\d{1,10}");

  private RequestPriority() {}

  /**
   * Reads a value: {@code online} or {@code offline}; or 1, the highest, for online and anything
   * below for offline; 0 leaves it to the model.
   *
   * @return null where it is left to the model
   * @throws io.pipelane.config.StatusException for anything else
   */
  public static @Nullable Priority of(String value) {
    String text = value.toLowerCase(Locale.ROOT);
    if (NUMBER.matcher(text).matches()) {
      long number = Long.parseLong(text);
      return number == 0 ? null : number == 1 ? Priority.ONLINE : Priority.OFFLINE;
    }
    return switch (text) {
      case "online" -> Priority.ONLINE;
      case "offline" -> Priority.OFFLINE;
      default ->
          throw Json.invalid(
              "the request: parameter \"priority\" is \"%s\"; allowed are online, offline and whole"
                      .formatted(Json.shorten(value))
                  + " numbers: 0 for the model's, 1 for online, more for offline");
    };
  }
}

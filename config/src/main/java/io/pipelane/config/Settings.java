package io.pipelane.config;

import io.pipelane.config.section.Key;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The table of all configuration keys, read from the records that {@link PipelaneConfig} is made
 * of. Files, flags, variables, validation and documentation follow from it.
 */
public final class Settings {
  static final String VARIABLE_PREFIX = "PIPELANE_";

  private static final List<Group> GROUPS =
      Arrays.stream(PipelaneConfig.class.getRecordComponents()).map(Settings::group).toList();
  private static final Map<String, Setting> BY_KEY =
      all().stream().collect(Collectors.toMap(Setting::key, Function.identity()));

  private Settings() {}

  /** The settings of one section, in the order of its record. */
  public record Group(String name, String about, Class<?> type, List<Setting> settings) {}

  public static List<Group> groups() {
    return GROUPS;
  }

  public static List<Setting> all() {
    return GROUPS.stream().flatMap(group -> group.settings.stream()).toList();
  }

  public static Optional<Setting> find(String key) {
    return Optional.ofNullable(BY_KEY.get(key));
  }

  /** Builds the records from a value for each setting. */
  static PipelaneConfig assemble(Function<Setting, Object> values) {
    List<Object> sections = new ArrayList<>();
    for (Group group : GROUPS) {
      sections.add(construct(group.type, group.settings.stream().map(values).toList()));
    }
    return (PipelaneConfig) construct(PipelaneConfig.class, sections);
  }

  private static Object construct(Class<?> type, List<Object> arguments) {
    Class<?>[] types =
        Arrays.stream(type.getRecordComponents())
            .map(RecordComponent::getType)
            .toArray(Class<?>[]::new);
    try {
      return type.getDeclaredConstructor(types).newInstance(arguments.toArray());
    } catch (InvocationTargetException e) {
      throw new IllegalArgumentException(type.getSimpleName() + " refused " + arguments, e);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("cannot construct " + type, e);
    }
  }

  private static Group group(RecordComponent component) {
    Section section = Objects.requireNonNull(component.getAnnotation(Section.class));
    List<Setting> settings =
        Arrays.stream(component.getType().getRecordComponents())
            .map(part -> setting(section.name(), part))
            .toList();
    return new Group(section.name(), section.about(), component.getType(), settings);
  }

  private static Setting setting(String section, RecordComponent component) {
    Key key = Objects.requireNonNull(component.getAnnotation(Key.class));
    boolean optional = component.getType() == Optional.class;
    return new Setting(
        section + "." + (key.name().isEmpty() ? kebabCase(component.getName()) : key.name()),
        key.about(),
        key.standard(),
        optional,
        key.unset(),
        ValueType.of(optional ? content(component) : component.getType()),
        new Setting.Range(key.min(), key.max(), key.powerOfTwo()));
  }

  /** The type inside an {@link Optional}. */
  private static Class<?> content(RecordComponent component) {
    ParameterizedType type = (ParameterizedType) component.getGenericType();
    return (Class<?>) type.getActualTypeArguments()[0];
  }

  private static String kebabCase(String name) {
    return name.replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
  }
}

package io.pipelane.server.grpc;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.LogSettingsRequest;
import io.pipelane.protocol.grpc.LogSettingsResponse;
import io.pipelane.protocol.grpc.TraceSettingRequest;
import io.pipelane.protocol.grpc.TraceSettingResponse;
import io.pipelane.server.observability.LogSetting;
import io.pipelane.server.observability.LogSettings;
import io.pipelane.server.observability.TraceSettings;
import io.pipelane.server.protocol.LogSettingForm;
import io.pipelane.server.protocol.TraceSettingForm;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The trace and logging extensions' calls: what a message sets, and the message that tells it. */
final class SettingMessages {
  private SettingMessages() {}

  /**
   * Sets what a message says, and tells what is set then.
   *
   * @param model null for all
   * @throws StatusException when something cannot be set
   */
  static TraceSettingResponse trace(
      TraceSettings settings, @Nullable String model, TraceSettingRequest request) {
    Map<String, List<String>> texts = new HashMap<>();
    request.getSettingsMap().forEach((name, value) -> texts.put(name, value.getValueList()));
    if (!texts.isEmpty()) {
      TraceSettingForm.change(settings, model, texts);
    }
    TraceSettingResponse.Builder answer = TraceSettingResponse.newBuilder();
    TraceSettingForm.describe(settings, model)
        .forEach(
            (name, values) ->
                answer.putSettings(
                    name,
                    TraceSettingResponse.SettingValue.newBuilder().addAllValue(values).build()));
    return answer.build();
  }

  /**
   * Sets what a message says, and tells what is set then.
   *
   * @throws StatusException when something cannot be set
   */
  static LogSettingsResponse log(
      LogSettings settings, LogSettingsRequest request, Runnable beforeChange) {
    Map<String, Object> values = new HashMap<>();
    request.getSettingsMap().forEach((name, value) -> values.put(name, value(name, value)));
    if (!values.isEmpty()) {
      LogSetting changed = LogSettingForm.change(settings.setting(), values);
      beforeChange.run();
      settings.set(changed);
    }
    LogSettingsResponse.Builder answer = LogSettingsResponse.newBuilder();
    LogSettingForm.describe(settings.setting())
        .forEach((name, value) -> answer.putSettings(name, message(value)));
    return answer.build();
  }

  private static Object value(String name, LogSettingsRequest.SettingValue value) {
    return switch (value.getParameterChoiceCase()) {
      case BOOL_PARAM -> value.getBoolParam();
      case UINT32_PARAM -> Integer.toUnsignedLong(value.getUint32Param());
      case STRING_PARAM -> value.getStringParam();
      case PARAMETERCHOICE_NOT_SET ->
          throw new StatusException(
              Status.INVALID_ARGUMENT, "log setting \"" + name + "\" has no value");
    };
  }

  private static LogSettingsResponse.SettingValue message(Object value) {
    LogSettingsResponse.SettingValue.Builder message =
        LogSettingsResponse.SettingValue.newBuilder();
    return switch (value) {
      case Boolean flag -> message.setBoolParam(flag).build();
      case Long number -> message.setUint32Param(number.intValue()).build();
      default -> message.setStringParam(value.toString()).build();
    };
  }
}

"""Which kind of model an objective needs."""

from sanne.config import Config
from sanne.model.hidden import HiddenModel
from sanne.model.model import Model
from sanne.model.objective import objective_kind
from sanne.model.walk_model import WalkModel


def model_kind(config: Config) -> type[Model]:
    """The class for the setting `objective`, whose settings are checked: all but `hidden` are trained on walks."""
    if config.objective.objective == HiddenModel.name:
        return HiddenModel
    objective_kind(config)
    return WalkModel

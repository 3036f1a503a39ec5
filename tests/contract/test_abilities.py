from wmel.contract.environment import HasStateRollout, Walkable
from wmel.parts import implements


class Walker:
    def displacements(self): ...
    def waypoint(self, states): ...


def test_an_ability_is_having_its_methods():
    assert implements(Walker(), Walkable)
    assert not implements(Walker(), HasStateRollout)
    assert not implements(object(), Walkable)
